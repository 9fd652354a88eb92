-- What most calls do not need. rest makes it once, in L.
local FOREIGN, WRONGTYPE, UNASKED, NEWER, WANTED, UNLENT = 2, 4, 8, 16, 32, 64
local SPLIT, LAST, BACK, RARE = 8, 16, 64, 128
local n = 0
L = {}

-- Buckets that several charges of the call ask, or that are in no usual state, listed
-- in S: the cell, the moment of expiry, the params it was counted under, the debt
-- beside it, whether to write it, whether it refused, what is wrong with it. They are
-- written at the end; others as soon as it is decided.
local S, A, U, B, E, Q, V, D, stale, X = {}, {}, {}, {}, {}, {}, {}, {}, {}, {}

