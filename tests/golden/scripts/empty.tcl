info workers
info barrier
info mpi
info mpir
info processes
info libraries
info event
where
goto end
puts [catch {next} why]
puts $why
puts [catch {back} why]
puts $why
puts [catch {find signal} why]
puts $why
