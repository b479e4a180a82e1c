package import HearthJSONTree

extension CanonicalJSON: ExpressibleByStringLiteral {
    /// `text` must be canonical.
    package init(_ text: String) { self.init(trusted: Array(text.utf8)) }

    package init(stringLiteral text: String) { self.init(text) }
}

extension Path: ExpressibleByStringLiteral {
    /// The keys of `a/b/c`.
    package init(stringLiteral text: String) {
        self.init(
            text.utf8.split(separator: UInt8(ascii: "/")).map { bytes in
                guard let key = try? Key(validating: Array(bytes)) else { preconditionFailure("\(text) is not a path") }
                return key
            })
    }
}
