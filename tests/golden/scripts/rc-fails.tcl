dset MAX_LIST 5
dset MAX_LIST five
