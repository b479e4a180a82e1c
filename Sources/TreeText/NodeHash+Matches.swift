package import HearthJSONTree

extension NodeHash {
    /// Whether a client that sends `hash` means this value: it is the right hash or one of the wrong ones that clients
    /// compute.
    package static func matches(_ hash: [UInt8], _ value: CanonicalJSON) -> Bool {
        if hash.isEmpty || value.isNull { return hash.isEmpty && value.isNull }
        return value.bytes.withUnsafeBytes { text in
            var hasher = NodeHasher(text: text, variant: .standard)
            if hasher.hash(0..<text.count) == hash { return true }
            for variant in hasher.wrongVariants {
                var hasher = NodeHasher(text: text, variant: variant)
                if hasher.hash(0..<text.count) == hash { return true }
            }
            return false
        }
    }
}

extension NodeHasher {
    /// The variants that give another hash than the standard one, known after that was computed.
    package var wrongVariants: [NodeHash.Variant] {
        (hasOddNumber ? [.javaScriptNumbers] : []) + (hasOddOrder ? [.appleOrder] : [])
    }
}
