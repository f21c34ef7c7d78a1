package console

import "net/http"

// policy allows the files of this server and nothing else: no inline script, no inline style, no other host, no frame around the page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; connect-src 'self'; " +
	"frame-ancestors 'none'; base-uri 'self'; form-action 'self'"

// setSecurity sets the headers by which a browser protects the pages.
func setSecurity(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY") // for browsers that do not know frame-ancestors
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
}

// placeholder is the index of a binary without the pages.
const placeholder = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <title>Penstock</title>
  </head>
  <body>
    <h1>Penstock runs</h1>
    <p>This binary was built without the pages of the console. The API and the command line work. To have the pages, run <code>make web</code> and build again without the tag <code>noui</code>.</p>
  </body>
</html>
`
