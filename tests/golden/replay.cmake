# The console on fixtures: scripts/NAME.tcl, or commands, to what it prints.
#   tg_replay_test(NAME FIXTURE)   runs scripts/NAME.tcl
function(tg_replay_test name fixture)
  tg_golden_test(replay-${name} ${fixture} replay --symbols=off -x scripts/${name}.tcl ${fixture}.tgt)
endfunction()

tg_replay_test(hung hung)
tg_replay_test(heap heap)
tg_replay_test(motion hung)
tg_replay_test(zones hung)
tg_replay_test(focus hung)
tg_replay_test(constructs constructs)
tg_replay_test(job hybrid)
tg_replay_test(mpir mpir-aborted)
tg_replay_test(mpir-launched mpir)
tg_replay_test(sequence hung)
tg_replay_test(hostile hostile)
tg_replay_test(hostile-tcl hostile-tcl)
tg_replay_test(empty empty)
tg_replay_test(tcl hung)
tg_replay_test(fails hung)
tg_replay_test(subcommands hung)
tg_replay_test(fails-inside hung)
tg_replay_test(trace hung)
tg_replay_test(zone-ends sequence-constructs)
tg_golden_test(replay-many sequence-many replay -e "goto end" -e "info workers" -e "info barrier" sequence-many.tgt)
tg_golden_test(replay-workers workers replay -e "goto end" -e "info workers" -e "focus rank 4" -e "info workers"
               -e "info workers -all" workers.tgt)
tg_golden_test(replay-nested sequence-nested replay -e "goto 15" -e "info workers" -e "info barrier" sequence-nested.tgt)
# ranks of two jobs have the same numbers
tg_golden_test(replay-jobs jobs replay -e "goto end" -e "info processes" -e "info mpi" jobs.tgt)
tg_replay_test(open-brace hung)
# the post-mortem of what can go wrong
foreach(what messages collectives threads ends)
  tg_golden_test(replay-mortem-${what} mortem-${what} replay --symbols=off -e "goto end" -e where mortem-${what}.tgt)
endforeach()
# teams that hang, ended after 10 s: each is told as it was in the report, and where it stood in the console
# busy when it was interrupted; tags and ranks that disagree; deadlocks that need no time; who was first; SIGSTOP
foreach(what busy disagree still first stopped)
  tg_golden_test(replay-mortem-${what} mortem-${what} replay --symbols=off -e "goto end" -e where mortem-${what}.tgt)
endforeach()
# iterations of doacross and ordered loops that others wait for: left out, late, not known; names of threads
tg_golden_test(report-mortem-iterations mortem-iterations report --symbols=off mortem-iterations.tgt)
# mortem-tests: process 100 tests a lock in a loop that its holder never releases; in process 200 a lock is held for long, and
# those that found it taken do something else
tg_golden_test(report-mortem-tests mortem-tests report --symbols=off mortem-tests.tgt)
# mortem-pollers: of three ranks that have tested or probed in vain two still do when the job is interrupted
tg_golden_test(report-mortem-pollers mortem-pollers report --symbols=off mortem-pollers.tgt)
tg_golden_test(report-mortem-teams mortem-teams report --symbols=off mortem-teams.tgt)
# mortem-communicators: a count that MPI refuses; then rank 2 is at a barrier of another communicator
tg_golden_test(report-mortem-communicators mortem-communicators report --symbols=off mortem-communicators.tgt)
# mortem-exchange: rank 1 does not come to an MPI_Sendrecv that its neighbours are in; the half of it is named that is missing
tg_golden_test(report-mortem-exchange mortem-exchange report --symbols=off mortem-exchange.tgt)
tg_golden_test(sequence-exchange-text mortem-exchange sequence --print --symbols=off mortem-exchange.tgt)
# names of code come behind the stacks that have it: they hold for moments before, too
tg_golden_test(replay-names stacks replay --symbols=off -e "goto 24" -e where stacks.tgt)
# a moment inside of a hang, where no event is: waits are as long as they were then
tg_golden_test(replay-moment mortem-disagree replay --symbols=off -e "goto 1.5s" -e where -e "goto 4.5s" -e where -e next -e where mortem-disagree.tgt)
tg_golden_test(replay-mortem-teams mortem-teams replay --symbols=off -e "goto 9.5s" -e where -e "info barrier -teams"
               -e "info workers" mortem-teams.tgt)
tg_golden_test(replay-execute hung replay -e "goto 45" -e "info barrier" hung.tgt)
# barriers of a live session: waited at, disabled, a dead end, satisfied as a member died, gone; forward and back
tg_golden_test(replay-control control replay --symbols=off -x scripts/control.tcl control.tgt)
tg_golden_test(replay-control-json control replay --json -e "goto 30" -e "info barrier -points" -e "info barrier -teams" control.tgt)
tg_golden_test(replay-order hung replay -e "set place 45" -x scripts/order.tcl -e "info event" hung.tgt)
# --rc comes first, wherever it stands, and does not end the console: its input is empty here
tg_golden_test(replay-rc hung replay -e "there 45" --rc scripts/rc.tcl -e "dset MAX_LIST" hung.tgt)
tg_golden_test(replay-rc-fails hung replay -e "puts unreached" --rc scripts/rc-fails.tcl hung.tgt)
tg_golden_test(replay-help hung replay -e help -e "help opm next" -e "help opm" -e "help find" hung.tgt)
# what gdb's words stand for, where that is of a live job
tg_golden_test(replay-foreign hung replay -e "help start" -e "help display" -e "help thread" -e "help jump" -e start hung.tgt)
tg_golden_test(replay-settings hung replay -e dset -e "dset MAX_LIST 5" -e "dset STOP_ALL none" hung.tgt)
tg_golden_test(replay-setting-is-none hung replay -e "dset MAX_LIST five" hung.tgt)
tg_replay_test(setting-variables hung)
tg_golden_test(replay-aliases hung replay -e "goto end" -e "f r0" -e "info processes" -e alias -e "help f" -e "b 12" hung.tgt)
tg_golden_test(replay-quit hung replay -x scripts/quit.tcl -e "puts unreached" hung.tgt)
tg_golden_test(replay-without-index hung@10 replay -e "goto end" -e "back 2" -e next hung.tgt)
tg_golden_test(replay-missing - replay -e next missing.tgt)
tg_golden_test(replay-input - replay -e next -)
tg_golden_test(replay-no-script hung replay -x missing.tcl hung.tgt)
tg_golden_test(replay-no-trace - replay)
# the dlopen filter, and what it has left loaded where
tg_golden_test(replay-dlopen filter-medium replay -e "goto end" -e "info dlopen" -e "back 3" -e "dinfo libraries"
               -e "dinfo libraries *mca_*" -e "dinfo libraries nothing" -e "info dlopen more" filter-medium.tgt)
tg_golden_test(replay-dlopen-json filter-fast replay --json -e "goto 48" -e "dinfo dlopen" -e "dinfo libraries *mca_*" filter-fast.tgt)
