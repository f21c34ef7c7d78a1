package rest

// HeaderLimitWait says for how many milliseconds a call waited for its turn under its caller's limits, if it did. In canonical
// form.
const HeaderLimitWait = "X-Penstock-Limit-Wait-Ms"
