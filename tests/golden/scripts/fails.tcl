next

find nonsense
puts unreached
