package rest

// HeaderLimitWait is the header with the milliseconds that a call waited because of its caller's limits, if it waited.
// In canonical form.
const HeaderLimitWait = "X-Penstock-Limit-Wait-Ms"
