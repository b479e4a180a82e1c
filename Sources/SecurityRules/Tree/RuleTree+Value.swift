package import HearthJSONTree

extension RuleTree {
    /// Whether there is anything at an encoded path.
    package func exists(at path: [UInt8]) throws(RuleTreeError) -> Bool { try value(at: path.span.bytes).exists }

    /// The whole value at an encoded path, with priorities; nil if it has more than `bytesMax` bytes.
    package func value(at path: [UInt8], bytesMax: Int) throws(RuleTreeError) -> CanonicalJSON? {
        var out: [UInt8] = []
        guard try append(path, to: &out, bytesMax: bytesMax) else { return nil }
        return out.isEmpty ? .null : CanonicalJSON(trusted: out)
    }

    /// Appends nothing where nothing is. Answers false once there are more bytes.
    private func append(_ path: [UInt8], to out: inout [UInt8], bytesMax: Int) throws(RuleTreeError) -> Bool {
        switch try value(at: path.span.bytes) {
        case .nothing: return true
        case .text(let json, let range):
            guard out.count + range.count <= bytesMax else { return false }
            out.append(contentsOf: json.bytes[range])
            return true
        case .spread(let priority):
            // A member has at least six bytes: `"k":1,`.
            guard let segments = try children(of: path, max: (bytesMax - out.count) / 6) else { return false }
            out.append(UInt8(ascii: "{"))
            let start = out.count
            if !priority.isNull { out += Array(#"".priority":"#.utf8) + priority.bytes }
            for segment in segments.sorted(by: { $0.precedesBytewise($1) }) {
                let begin = out.count
                if begin > start { out.append(UInt8(ascii: ",")) }
                out += CanonicalJSON(string: Path(encoded: segment).lastKey?.utf8 ?? []).bytes
                out.append(UInt8(ascii: ":"))
                let member = out.count
                guard try append(path + segment, to: &out, bytesMax: bytesMax) else { return false }
                if out.count == member { out.removeSubrange(begin...) }
            }
            out.append(UInt8(ascii: "}"))
            return true
        }
    }

    /// The encoded keys of the children of a place, in any order; nil if there are more than `max`.
    package func children(of path: [UInt8], max: Int) throws(RuleTreeError) -> [[UInt8]]? {
        var segments: [[UInt8]] = []
        switch try value(at: path.span.bytes) {
        case .nothing: break
        case .text(let json, let range):
            for child in json.children(in: range) {
                if segments.count >= max { return nil }
                var segment: [UInt8] = []
                child.appendSegment(to: &segment)
                segments.append(segment)
            }
        case .spread:
            try forEachChild(of: path.span.bytes) { segment in
                segments.append(segment.withUnsafeBytes { [UInt8]($0) })
                return segments.count <= max
            }
        }
        return segments.count > max ? nil : segments
    }
}

extension RuleTree {
    /// The encoded keys of all children.
    package func children(of path: [UInt8]) throws(RuleTreeError) -> [[UInt8]] {
        var segments: [[UInt8]] = []
        switch try value(at: path.span.bytes) {
        case .nothing: break
        case .text(let json, let range):
            for child in json.children(in: range) {
                var segment: [UInt8] = []
                child.appendSegment(to: &segment)
                segments.append(segment)
            }
        case .spread:
            try forEachChild(of: path.span.bytes) { (segment) throws(RuleTreeError) in
                segments.append(segment.withUnsafeBytes { [UInt8]($0) })
                return true
            }
        }
        return segments
    }
}
