# Steps threads of an OpenMP program, and says where they are. WHERE of each answer is compared with the source.
proc at {what answer} {puts "AT $what: [lindex [split [string trim $answer] \n] end]"}
proc where {focus} {
    set lines {}
    foreach line [split [dfocus $focus {dwhere 1}] \n] {
        if {[regexp {#(\d+)} $line - number]} {lappend lines $number}
    }
    return [lsort -unique $lines]
}
proc say {what focus} {puts "AT $what: [where $focus]"}

dbreak *work
dcont
say work t1.1
# a line that is said to be in a function has to be there
proc is_in {function line} {
    if {[catch {dbreak stepped.c#$function#$line} point]} {return $point}
    ddelete $point
    return yes
}
set line [where t1.1]
set point [dbreak work#$line]
if {![string match "*stepped.c#$line*" [dactions $point]]} {error "work#$line: [dactions $point]"}
ddelete $point
if {[is_in work $line] ne "yes"} {error "line $line in work: [is_in work $line]"}
if {![string match "line $line of stepped.c is in 'work', not in 'main'" [is_in main $line]]} {
    error "line $line in main: [is_in main $line]"
}
dstep
say step t1.1
dnext
say region t1.1
# into the region's body: its threads run on meanwhile, as far as the breakpoint, and stop
ddisable 1
dbreak *leaf -t
dstep
say body t1.1
if {[is_in work [where t1.1]] ne "yes"} {error "a region's line: [is_in work [where t1.1]]"}
dfocus p1 dcont
say all p1
# all of them in lockstep, nobody else
dfocus pL dnext
say lockstep p1
dfocus t1.2 dstep
say one t1.2
say others {t1.1}
dfocus t1.2 dout
say out t1.2
# a breakpoint on the way ends a step
dfocus t1.2 {dnext 3}
say hit t1.2
dfocus t1.2 {duntil -address leaf+30}
dfocus t1.3 dhold
if {![catch {dfocus t1.3 dnext} message]} {error "who is held steps"}
dfocus t1.3 dunhold
if {![catch {dfocus t1.2 {duntil 999}} message]} {error "there is no line 999"}
# where no code is nobody comes to, and a breakpoint there would change data
foreach place {0x10 {$rsp}} {
    if {![catch {dfocus t1.2 [list duntil -address $place]} message] || ![string match "*no code at *" $message]} {
        error "duntil -address $place says: $message"
    }
}
set stack [dfocus t1.2 {dexamine -format address -count 1 rsp}]
if {![regexp {0x[0-9a-f]+} $stack stack] || ![catch {dbreak -address $stack} message] ||
    ![string match "*no process has code at *" $message]} {
    error "dbreak -address $stack says: $message"
}
set before [dfocus t1.4 {dexamine -format address -count 1 pc}]
dfocus t1.4 {dstepi 3}
if {[dfocus t1.4 {dexamine -format address -count 1 pc}] eq $before} {error "three instructions lead nowhere"}
dfocus t1.4 dnexti
ddelete -a
dfocus p1 dcont
