opm start
opm step
opm step out
opm start
puts [catch {opm start} why]
puts $why
opm step
puts [catch {opm start} why]
puts $why
puts [catch {opm start --force} why]
puts $why
opm next loop
puts [catch {opm step out} why]
puts $why
opm next critical
opm next critical
opm step
opm next barrier
puts [catch {opm next barrier} why]
puts $why
puts [catch {opm step out} why]
puts $why
puts [catch {opm next nonsense} why]
puts $why
info workers
goto start
opm next
opm next
