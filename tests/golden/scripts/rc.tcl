# what somebody wants to have in every session
dset MAX_LIST 5
proc there {number} {
    return "there: [goto $number]"
}
