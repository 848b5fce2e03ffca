"""What random scenes leave out for now, each by a name: delete it, and where it is asked, once the engine can."""

#: joints that end somewhere, beside exact constraints
STOPS_BESIDE_CONSTRAINTS = True
#: numbers of the model among the parameters, beside contacts, stops and what else acts after flight
NUMBERS_BESIDE_IMPULSES = True
