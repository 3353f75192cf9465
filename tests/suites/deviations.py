"""Where the product differs from the suites: (reason, pattern of the names of the cases), by suite. The patterns match
exactly the cases that differ."""


def numbered(*numbers):
    """Cases by number: 3, or (5, 7) for 5 to 7."""
    spans = [(number, number) if isinstance(number, int) else number for number in numbers]
    return rf"^({'|'.join(str(one) for first, last in spans for one in range(first, last + 1))}) "


DEVIATIONS = {
    "css": [
        ("inventions of the suite's own library and of jQuery, which CSS has not", numbered(13, (55, 58), (60, 73))),
        (":has() is of CSS level 4", numbered(59)),
        ("the library ignores a space as value; CSS ignores only an empty value", numbered(20, 22, 24)),
        ("the page is read as HTML 4: text between rows stays in its table", numbered(27)),
        ("the root is a first child since CSS level 4", numbered(76, 77)),
    ],
    "css syntax": [
        (":has(), :is(), :where(), :host and :focus-visible are of CSS level 4",
         r":(has\((?!\))|is\(|where\(|host|focus-visible)"),
        ("only CSS level 4 has more than one simple selector in :not()",
         r":not\((\.a [^)]|span|:not\(foo|\[disabled\][,[])"),
        ("a response has no pointer and no visits", r"^:not\(:(hover|link)\)"),
    ],
    "http": [
        ("Transfer-Encoding with Content-Length may be an attack, so it is an error (RFC 9112, section 6.3)",
         numbered(6, 13)),
        ("the body is decoded, whether or not the request asked for gzip", numbered(14)),
        ("a status line with two spaces is an error (RFC 9112, section 4)", numbered(15)),
    ],
    "urls": [
        ("an empty Location is no redirect", numbered(23, 24)),
        ("nobody listens on port 0", numbered(13, 14)),
        ("an empty user name is a user name too, and credentials in a redirect are refused",
         numbered(3, 216, 220, 241)),
        ("a host of numbers goes to the resolver as it is, unless it is an address of four decimals",
         numbered(167, 288, 289, 290, 294, (480, 482), 484, 486, 487, 489, (491, 498), (657, 681), (683, 685))),
        ("an address of IPv6 stays as it is written; a wrong one is the name of no host",
         numbered(70, 71, 261, (300, 302), (556, 564), 603)),
        ("punycode is not decoded, so wrong punycode is a name of no host", numbered((271, 276))),
        ("a host of such characters is refused: no name has them", numbered(457)),
        ("letters beyond ASCII in a host are no names when they are percent-encoded", numbered(464)),
    ],
}
