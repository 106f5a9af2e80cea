# MPIR with starters that do what real ones do not.
foreach(scenario gates layouts narrow chains oddities absurd selected strangers attached refused)
  tg_e2e_test(mpir_starter_${scenario} mpir_starter.py ${scenario})
endforeach()
