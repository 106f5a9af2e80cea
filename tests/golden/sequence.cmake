# Sequence diagrams: every format of every kind of situation.
foreach(situation critical barrier passing nested tasks constructs repeat many ranks crossing hostile exec hybrid halo)
  foreach(format svg seqdiag mermaid plantuml)
    tg_golden_test(sequence-${situation}-${format} sequence-${situation} sequence --format ${format} -o -
                   sequence-${situation}.tgt)
  endforeach()
endforeach()
# long waits for messages, of who receives, who sends, and in MPI_Wait; of many alike the longest
tg_golden_test(sequence-late-text sequence-late sequence --print --all sequence-late.tgt)
tg_golden_test(sequence-late-svg sequence-late sequence --all -o - sequence-late.tgt)
# a collective within a region, which is drawn above it
tg_golden_test(sequence-within-text sequence-within sequence --print --all --by rank sequence-within.tgt)
# tasks at the end of a region, below what created them; what is cancelled
tg_golden_test(sequence-causes-all sequence-causes sequence --print --all sequence-causes.tgt)
tg_golden_test(sequence-causes-svg sequence-causes sequence --all -o - sequence-causes.tgt)
tg_golden_test(sequence-laggard sequence-laggard sequence --print --all sequence-laggard.tgt)
# cycles of waits: of workers for locks, of ranks for messages; one waits for a member and is none
# loops of messages that come in any order, or with a tag of their own, are one iteration
tg_golden_test(sequence-loop-text sequence-loop sequence --print --all sequence-loop.tgt)
tg_golden_test(sequence-cycle-text sequence-cycle sequence --print sequence-cycle.tgt)
tg_golden_test(sequence-cycle-svg sequence-cycle sequence -o - sequence-cycle.tgt)
tg_golden_test(sequence-ring-text sequence-ring sequence --print sequence-ring.tgt)
tg_golden_test(sequence-ring-svg sequence-ring sequence -o - sequence-ring.tgt)
# one that goes through MPI_Wait and a collective; a rank that waits in that as well is none of it
tg_golden_test(sequence-knot-text sequence-knot sequence --print sequence-knot.tgt)
tg_golden_test(sequence-constructs-every constructs sequence --print --all --symbols=off constructs.tgt)
tg_golden_test(sequence-repeat-all sequence-repeat sequence --print --all sequence-repeat.tgt)
# ranks of the first job; those of the other have the same numbers
tg_golden_test(sequence-jobs sequence-jobs sequence --print sequence-jobs.tgt)
tg_golden_test(sequence-jobs-other sequence-jobs sequence --print --pid 200-201 sequence-jobs.tgt)
tg_golden_test(sequence-ranks-all sequence-ranks sequence --print --all sequence-ranks.tgt)
tg_golden_test(sequence-ranks-some sequence-ranks sequence --print --by rank --rank 0-2 sequence-ranks.tgt)
tg_golden_test(sequence-rank sequence-ranks sequence --print --by worker --rank 2 sequence-ranks.tgt)
# an attached rank, of which no call is in the trace, beside one that was launched
tg_golden_test(sequence-attached sequence-attached sequence --print sequence-attached.tgt)
tg_golden_test(sequence-attached-alone sequence-attached sequence --print --rank 1 --by worker sequence-attached.tgt)
# two that wait for each other outside of regions, and were killed then: ranks, not the workers of one; names that the trace has
# of code that is not here, as in a redacted one
tg_golden_test(sequence-killed sequence-killed sequence --print sequence-killed.tgt)
tg_golden_test(sequence-killed-report sequence-killed report sequence-killed.tgt)
tg_golden_test(sequence-killed-replay sequence-killed replay -e "goto end" -e "info mpi" sequence-killed.tgt)
tg_golden_test(sequence-team sequence-nested sequence --print --team 3 sequence-nested.tgt)
tg_golden_test(sequence-around sequence-critical sequence --print --around 20us sequence-critical.tgt)
tg_golden_test(sequence-window sequence-constructs sequence --print --from 60us --to 80us sequence-constructs.tgt)
tg_golden_test(sequence-exec-all sequence-exec sequence --print --all sequence-exec.tgt)
tg_golden_test(sequence-hybrid-ranks sequence-hybrid sequence --print --all --by rank sequence-hybrid.tgt)
tg_golden_test(sequence-hybrid-ranks-svg sequence-hybrid sequence -o - --all --by rank sequence-hybrid.tgt)
tg_golden_test(sequence-named sequence-critical sequence sequence-critical.tgt)
# what goes wrong is one clear error
tg_golden_test(sequence-nothing shell sequence --print shell.tgt)
tg_golden_test(sequence-no-team sequence-nested sequence --print --team 9 sequence-nested.tgt)
tg_golden_test(sequence-no-format - sequence --format png any.tgt)
tg_golden_test(sequence-no-by - sequence --by thread any.tgt)
tg_golden_test(sequence-bad-team - sequence --team x any.tgt)
tg_golden_test(sequence-bad-around - sequence --around soon any.tgt)
tg_golden_test(sequence-around-from - sequence --around 1 --from 1 any.tgt)
tg_golden_test(sequence-input - sequence --print -)
tg_golden_test(sequence-itself sequence-critical sequence --force -o sequence-critical.tgt sequence-critical.tgt)

find_program(TG_SEQDIAG seqdiag3)
file(GLOB sequence_fixtures CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/sequence-*.jsonl)
if(Python3_FOUND AND TG_SEQDIAG AND NOT TG_SANITIZE) # it is seqdiag that is slow, and not instrumented
  add_test(NAME golden/seqdiag COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/seqdiag_test.py
           $<TARGET_FILE:tollgate> $<TARGET_FILE:trace_from_json> ${CMAKE_CURRENT_SOURCE_DIR}/expected ${sequence_fixtures})
  set_tests_properties(golden/seqdiag PROPERTIES LABELS golden TIMEOUT 900 COST 10)
endif()

find_program(TG_PLANTUML plantuml)
if(Python3_FOUND)
  set(plantuml "")
  if(TG_PLANTUML)
    set(plantuml ${TG_PLANTUML})
  endif()
  add_test(NAME golden/sequence_texts
           COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/text_test.py $<TARGET_FILE:tollgate>
                   $<TARGET_FILE:trace_from_json> "${plantuml}" ${sequence_fixtures})
  set_tests_properties(golden/sequence_texts PROPERTIES LABELS golden)
endif()

find_program(TG_CHROMIUM NAMES chromium-headless-shell chromium)
if(Python3_FOUND)
  set(chromium "")
  if(TG_CHROMIUM)
    set(chromium ${TG_CHROMIUM})
  endif()
  add_test(NAME golden/page COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/page_test.py $<TARGET_FILE:tollgate>
           $<TARGET_FILE:trace_from_json> "${chromium}" ${sequence_fixtures})
  set_tests_properties(golden/page PROPERTIES LABELS golden)
  set(page_fixtures hung stacks heap filter-medium hostile hybrid)
  list(TRANSFORM page_fixtures REPLACE "(.+)" "${CMAKE_CURRENT_SOURCE_DIR}/fixtures/\\1.jsonl")
  add_test(NAME golden/report_page COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/report_page_test.py
           $<TARGET_FILE:tollgate> $<TARGET_FILE:trace_from_json> "${chromium}" ${page_fixtures})
  set_tests_properties(golden/report_page PROPERTIES LABELS golden)
  add_test(NAME golden/svg COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/svg_test.py $<TARGET_FILE:tollgate>
           $<TARGET_FILE:trace_from_json> ${sequence_fixtures})
  set_tests_properties(golden/svg PROPERTIES LABELS golden)
endif()
# script: two Python ranks that wait for each other; the call is in a library without lines, the last stacks have those of the script
tg_golden_test(sequence-script sequence-script sequence --print sequence-script.tgt)
tg_golden_test(report-script-json sequence-script report --json sequence-script.tgt)
