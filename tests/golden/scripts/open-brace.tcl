next
foreach n {1 2 3} {
    next
