# (see the house work)
