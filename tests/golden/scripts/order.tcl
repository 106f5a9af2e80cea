goto $place
