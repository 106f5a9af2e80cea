# The heap at several moments, forwards and backwards: dheap answers from the trace what needs no process.
puts "-- at the end"
goto end
dheap
dheap -stats
dheap -leaks
dheap -event_filter
dheap -guard
dheap -paint
dheap -hoard
dheap -red_zones
puts "-- a pointer: live, dangling, inside, never"
dfocus r3 dheap -info 0x30000000
dfocus r3 dheap -info 0x20000010
dfocus r0 dheap -info 0x10200005
dheap -info 0x99999999
puts "-- backwards"
goto 0.01
dheap
dfocus r0 dheap -info 0x10200005
dheap -stats -by size
puts "-- compared"
goto end
dfocus r3 dheap -compare 10ms
puts "-- refused"
foreach command {{dheap -tag_alloc} {dheap -tag_alloc 0x12} {dheap -paint on} {dheap -guard -set off} {dheap -set on} {dheap -hoard -set_alloc on} {dheap 0x12} {dheap -info x} {dheap -check_interior} {dheap -compare soon} {dheap -leaks -info 0x12} {dheap -stat}} {
    catch $command message
    puts $message
}
goto start
catch dheap message
puts $message
