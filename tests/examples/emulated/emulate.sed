# What C has no words for: a kernel of one argument, and its launch.
s/__global__ void \([a-z_]*\)(\(struct [a-z_]*\) a)/EMULATED_GLOBAL(\1, \2)/
s/\([a-z_]*\)<<<\([0-9a-z]*\), \([0-9a-z]*\)>>>(\([*a-z]*\))/EMULATED_LAUNCH(\1, \2, \3, \4)/
