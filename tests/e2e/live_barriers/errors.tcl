# Barriers that cannot be.
gather "1-2.1-2"
check_error {dfocus {{pW1 p2}} {dbarrier work}} {inconsistent}
check_error {dfocus p9 {dbarrier work}} {no process 9}
check_error {dbarrier no_such_function} {no_such_function}
check_error {dbarrier work -stop_when_hit sometimes} {-stop_when_hit}
check_error {dbarrier work -stop_when_done} {dbarrier}
check_error {dbarrier} {dbarrier}
check_error {ddelete 5} {no action point 5}
check {dactions} ""
dfocus g dcont
