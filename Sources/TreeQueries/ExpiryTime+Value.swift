package import HearthJSONTree

extension ExpiryTime {
    /// When the child expires whose text is `range` of `json`, in milliseconds since 1970; nil for never.
    package func time(of json: CanonicalJSON, in range: Range<Int>) -> Int64? {
        (path.isRoot ? range : json.range(of: path, in: range)).flatMap { json.number(in: $0) }.map(time)
    }

    /// No earlier than 1970, and no later than JavaScript can tell.
    package func time(_ number: JSONNumber) -> Int64 {
        Int64(min(max(0, number.double + Double(after)), Double(1 << 53)).rounded(.up))
    }
}
