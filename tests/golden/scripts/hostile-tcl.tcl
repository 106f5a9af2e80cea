# Whatever a trace calls things, scripts run none of it: not in results, not in lists, not in errors.
set x harmless
set shown 0
goto start
while {![catch next text]} {
    incr shown
    set everything {}
    foreach command {
        {info workers} {info workers -all} {info workers -list} {info barrier} {info barrier -list} {info mpi}
        {info processes} {info libraries} {info event} {info event -dict} where {opm sequence --print}
        {opm sequence --print --by rank} {dfocus r0} {dfocus all}
    } {
        catch $command result
        lappend everything $result
        # As scripts go on with them.
        eval [list set copy $result]
        if {![catch {llength $result}]} {
            foreach element $result {
                lappend copy $element
            }
        }
    }
    catch {find note text=$text} found
    catch {dfocus $text} found
    catch {goto $text} found
    catch {opm next $text} found
    catch {find $text} found
    goto $shown
}
puts "$shown events, x is $x, [llength $everything] answers"
goto end
info processes
info workers
info event
dict get [info event -dict] reason
info mpi
error [dict get [info event -dict] reason]
