// Package crash marks the moments at which a test may kill the process.
//
// Production builds compile Point and Body to nothing. Builds with the tag crashtest kill themselves with
// SIGKILL, without any chance to clean up, at the point and pass named by PENSTOCK_CRASH, such as
// "finish.committed:3": the third time that a group of finishes was committed. They also have a defect that no
// recover can help against: a body that says [DeadlyBody] ends the process which touches it.
package crash

// DeadlyBody is what Body looks for.
const DeadlyBody = "[crash:recurse]"
