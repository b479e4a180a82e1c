package import HearthBytes

/// The hash of a node that clients send along with listens and transactions (Protocol.md 8, "V1"): the Base64 text
/// of a SHA-1 over a text of the node's own value, priority, and its children's keys and hashes. Nothing hashes to the
/// empty string.
package enum NodeHash {
    /// The right hash, and the known ways in which clients get it wrong.
    package enum Variant: Sendable, CaseIterable {
        case standard
        /// JavaScript clients compute the bits of a double by way of a logarithm, which is off just below some powers
        /// of two.
        case javaScriptNumbers
        /// Apple clients take children in key order if all of them have a priority.
        case appleOrder
    }

    /// 28 bytes, or none for nothing. O(bytes × depth).
    package static func hash(_ value: CanonicalJSON, variant: Variant = .standard) -> [UInt8] {
        value.bytes.withUnsafeBytes { text in
            var hasher = NodeHasher(text: text, variant: variant)
            return hasher.hash(0..<text.count)
        }
    }
}

package struct NodeHasher {
    let text: UnsafeRawBufferPointer
    let variant: NodeHash.Variant
    /// Whether there was anything that a variant hashes otherwise.
    package private(set) var (hasOddNumber, hasOddOrder) = (false, false)

    package init(text: UnsafeRawBufferPointer, variant: NodeHash.Variant) {
        self.text = text
        self.variant = variant
    }

    package mutating func hash(_ node: Range<Int>) -> [UInt8] {
        let shape = CanonicalShape(text, node)
        if shape.kind == .nothing { return [] }
        var sha = SHA1()
        if let priority = shape.priority { updatePriority(priority, &sha) }
        if shape.kind == .leaf {
            updateScalar(shape.content, &sha)
        } else {
            for member in orderedMembers(shape) {
                let hash = hash(member.value)
                sha.update(":")
                member.withKey(text) { sha.update($0) }
                sha.update(":")
                hash.withUnsafeBytes { sha.update($0) }
            }
        }
        return sha.finishAsText()
    }

    package mutating func updatePriority(_ range: Range<Int>, _ sha: inout SHA1) {
        sha.update("priority:")
        updateScalar(range, &sha)
        sha.update(":")
    }

    /// In priority order (Protocol.md 16.2): by priority, then by key.
    private mutating func orderedMembers(_ shape: CanonicalShape) -> [CanonicalMember] {
        var members: [CanonicalMember] = []
        var priorities: [Range<Int>] = []
        var withPriority = 0
        for member in CanonicalMembers(text, shape) {
            members.append(member)
            let priority = CanonicalShape(text, member.value).priority
            if priority != nil { withPriority += 1 }
            priorities.append(priority ?? 0..<0)
        }
        if withPriority == 0 { return members }
        var order = Array(members.indices)
        order.sort { a, b in
            let result = ValueOrder.compare(text.part(priorities[a]), text.part(priorities[b]))
            return result != 0 ? result < 0 : a < b
        }
        if withPriority == members.count, order != Array(members.indices) {
            hasOddOrder = true
            if variant == .appleOrder { return members }
        }
        return order.map { members[$0] }
    }

    private mutating func updateScalar(_ range: Range<Int>, _ sha: inout SHA1) {
        let scalar = text.part(range)
        switch scalar.first {
        case UInt8(ascii: "t"): sha.update("boolean:true")
        case UInt8(ascii: "f"): sha.update("boolean:false")
        case UInt8(ascii: "\""):
            sha.update("string:")
            let content = scalar.part(1..<max(1, scalar.count - 1))
            if content.contains(UInt8(ascii: "\\")) {
                var utf8: [UInt8] = []
                JSONText.appendUnescaped(content, to: &utf8)
                utf8.withUnsafeBytes { sha.update($0) }
            } else {
                sha.update(content)
            }
        default:
            sha.update("number:")
            let number = JSONNumber(canonical: scalar).double
            var bits = number.bitPattern
            let odd = JavaScriptDouble.bits(of: number)
            if odd != bits { hasOddNumber = true }
            if variant == .javaScriptNumbers { bits = odd }
            sha.update(hexadecimalOf: bits)
        }
    }
}

extension SHA1 {
    /// The digest in Base64, as hashes are written. The state is used up.
    package consuming func finishAsText() -> [UInt8] {
        finish().withUnsafeBytes { Base64.standard.encode($0) }
    }
}
