# Who is where at a moment inside of each construct.
puts "\n== parallel"
goto 7
info workers -all
info barrier
puts "\n== loop, schedule(static)"
goto 10
info workers -all
info barrier
puts "\n== loop, schedule(dynamic)"
goto 22
info workers -all
info barrier
puts "\n== loop, schedule(guided)"
goto 34
info workers -all
info barrier
puts "\n== loop, schedule(runtime)"
goto 40
info workers -all
info barrier
puts "\n== loop, schedule(auto)"
goto 52
info workers -all
info barrier
puts "\n== ordered: one inside, two wait for their turn"
goto 68
info workers -all
info barrier
puts "\n== doacross: two wait for depend(sink)"
goto 87
info workers -all
info barrier
puts "\n== sections: the second thread is in its second one"
goto 105
info workers -all
info barrier
puts "\n== single: one executes, one waits behind it, one has not come"
goto 118
info workers -all
info barrier
puts "\n== single copyprivate: two wait for the values"
goto 131
info workers -all
info barrier
puts "\n== masked (inferred)"
goto 143
info workers -all
info barrier
puts "\n== criticals, unnamed and named"
goto 149
info workers -all
info barrier
puts "\n== locks: taken crosswise, and a nestable one twice"
goto 163
info workers -all
info barrier
puts "\n== atomic and reduction"
goto 171
info workers -all
info barrier
puts "\n== scope"
goto 176
info workers -all
info barrier
puts "\n== workshare"
goto 188
info workers -all
info barrier
puts "\n== tasks: one waits for its child and executes it; the barrier's waiters work"
goto 213
info workers -all
info barrier
puts "\n== a task is suspended, another detached"
goto 219
info workers -all
info barrier
puts "\n== the end of a taskgroup that is cancelled"
goto 228
info workers -all
info barrier
puts "\n== taskloop"
goto 234
info workers -all
info barrier
puts "\n== barrier: one is missing"
goto 243
info workers -all
info barrier
puts "\n== barrier: open, one has passed"
goto 245
info workers -all
info barrier
puts "\n== barrier: one is at the next one while two still leave this one"
goto 246
info workers -all
info barrier
puts "\n== barrier: the next one, two missing"
goto 248
info workers -all
info barrier
puts "\n== a nested region: its barrier beside the outer region's work"
goto 258
info workers -all
info barrier
puts "\n== the join of the nested region"
goto 263
info workers -all
info barrier
puts "\n== cancel parallel: two leave, one still works"
goto 274
info workers -all
info barrier
puts "\n== the join: one is missing"
goto 276
info workers -all
info barrier
puts "\n== target, teams, distribute"
goto 282
info workers -all
info barrier
puts "\n== the end"
goto 285
info workers -all
info barrier
