import HearthJSONTree

extension CanonicalJSON {
    /// Whether bytes are the canonical text of a value.
    static func isCanonical(
        _ bytes: [UInt8], depth: Int = Path.maximumDepth, mayHaveServerValues: Bool = false
    ) -> Bool {
        // A value once stored stays valid, however the limits of new ones change.
        let limits = CanonicalJSON.Limits(depth: depth, stringByteCount: .max)
        guard let parsed = try? CanonicalJSON.parse(bytes, limits: limits) else { return false }
        return parsed.value.bytes == bytes && (mayHaveServerValues || !parsed.hasServerValues)
    }
}
