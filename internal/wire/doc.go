// Package wire is the JSON of a question and of its answer, which the decision
// service and its clients share.
//
// Questions are read strictly: an unknown or repeated member, a number that is not
// whole and a list that is too long are errors which say where and what to write
// instead. They never repeat a value, which could be a secret. Answers are written
// exactly: [AppendDecision] and [ParseDecision] carry a whole [stint.Decision] over.
// Answers are read leniently, so that an older client understands a newer server.
//
// Durations are whole microseconds, and their names end in _us; null stands for
// [stint.Never].
package wire
