# The barriers of a live session at moments of its trace.
foreach event {5 12 17 24 28 33} {
    puts "event $event"
    goto $event
    puts [info barrier]
}
back 20
info barrier -points
info barrier -points -list
info barrier -teams
catch {info barrier -points -teams} message
puts $message
