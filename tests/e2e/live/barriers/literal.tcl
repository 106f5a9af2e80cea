# The two listings of the documentation, places and addresses apart: a process barrier stops processes, whatever it was
# told; a thread barrier of workers does not.
dset BARRIER_STOP_WHEN_DONE process
puts [dbarrier $line -stop_when_hit thread]
puts [ac 1]
ddelete 1
puts [baw $line -stop_when_hit thread]
puts [ac 2]
quit -kill 0
