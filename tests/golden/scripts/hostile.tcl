foreach n {1 2 3 4 5 6 7 8 9 10 11 12 13 14 15} {
    next
    puts [info event]
}
info processes
info libraries
info event -dict
