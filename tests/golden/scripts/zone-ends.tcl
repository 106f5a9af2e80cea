# Through sections, criticals and barriers.
opm sections new
dcont
puts [catch {opm sections step-by-step} why]
puts $why
opm step
opm sections step-by-step
dcont
dcont
dcont
puts [catch {dcont} why]
puts $why
opm sections new off
goto start
opm next sections
puts [catch {opm sections finish} why]
puts $why
puts [catch {opm step; opm sections finish} why]
puts $why
goto start
opm next critical
opm critical next
opm critical next
opm all_out
info workers
puts [catch {opm critical next} why]
puts $why
goto start
puts [catch {opm barrier pass} why]
puts $why
puts [catch {opm all_out} why]
puts $why
opm next barrier
info barrier
opm barrier pass
opm next single
opm step
opm all_out
# behind the last barrier the end of the region, and nothing behind that
goto 166
opm step
puts [catch {opm step} why]
puts $why
opm section new
opm sections new off
goto end
dcont
info workers
foreach bad {{opm sections} {opm sections old} {opm sections finish now} {opm critical} {opm barrier fail} {opm all_out 3} {dcont 1}} {
    puts [catch $bad why]
    puts $why
}
