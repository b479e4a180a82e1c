package import JSONTree

extension ClientMessage {
    /// Reads one whole message (frames joined, wire-protocol 1.6). One pass over the envelope, one over the data; costs about the
    /// length of the text.
    package static func parse(_ bytes: UnsafeRawBufferPointer) throws(MessageError) -> ClientMessage {
        do {
            return try parseEnvelope(bytes)
        } catch let error as JSONError {
            throw MessageError(reason: "malformed message: \(error) at byte \(error.offset)")
        } catch let error as MessageError {
            throw error
        } catch {
            throw MessageError(reason: "malformed message")
        }
    }

    private static func parseEnvelope(_ bytes: UnsafeRawBufferPointer) throws -> ClientMessage {
        var reader = JSONReader(bytes)
        var layer: UInt8?
        var payload: UnsafeRawBufferPointer?
        try reader.forEachMember { (reader, key) throws(JSONError) in
            if key.equals("t") {
                layer = try reader.string().first
            } else if key.equals("d") {
                payload = try reader.skipValue()
            } else {
                _ = try reader.skipValue()
            }
        }
        try reader.finish()
        guard let payload, payload.first == UInt8(ascii: "{") else {
            throw MessageError(reason: "a message needs a layer \"t\" and an object \"d\"")
        }
        switch layer {
        case UInt8(ascii: "d"): return try parseRequest(payload)
        case UInt8(ascii: "c"): return try parseControl(payload)
        default: throw MessageError(reason: "the layer of a message is \"c\" or \"d\"")
        }
    }

    private static func parseControl(_ bytes: UnsafeRawBufferPointer) throws(JSONError) -> ClientMessage {
        var reader = JSONReader(bytes)
        var kind: [UInt8] = []
        try reader.forEachMember { (reader, key) throws(JSONError) in
            if key.equals("t") { kind = try reader.string() } else { _ = try reader.skipValue() }
        }
        return kind == [UInt8(ascii: "p")] ? .ping : .otherControl
    }

    private static func parseRequest(_ bytes: UnsafeRawBufferPointer) throws -> ClientMessage {
        var reader = JSONReader(bytes)
        var number: Int64?
        var action: UnsafeRawBufferPointer?
        var body: UnsafeRawBufferPointer?
        try reader.forEachMember { (reader, key) throws(JSONError) in
            if key.equals("r") {
                number = try reader.integer()
            } else if key.equals("a") {
                action = try reader.skipValue()
            } else if key.equals("b") {
                body = try reader.skipValue()
            } else {
                _ = try reader.skipValue()
            }
        }
        guard let number else { throw MessageError(reason: "a request needs a number \"r\"") }
        guard let action, action.count >= 2, action.first == UInt8(ascii: "\"") else {
            return .invalidRequest(number: number, .missing("action \"a\""))
        }
        do {
            let parts = try RequestParts(body)
            let name = UnsafeRawBufferPointer(rebasing: action[1..<action.count - 1])
            return .request(number: number, try request(name, parts))
        } catch let error as RequestError {
            return .invalidRequest(number: number, error)
        }
    }

    private static func request(_ action: UnsafeRawBufferPointer, _ parts: RequestParts) throws(RequestError)
        -> ClientRequest
    {
        if action.count == 1 {
            switch action[0] {
            case UInt8(ascii: "p"): return try parts.put()
            case UInt8(ascii: "m"): return try parts.merge()
            case UInt8(ascii: "q"), UInt8(ascii: "l"):
                return .listen(try parts.requiredPath(), query: parts.query, tag: parts.tag, hash: parts.hash)
            case UInt8(ascii: "n"), UInt8(ascii: "u"):
                return .unlisten(try parts.requiredPath(), query: parts.query, tag: parts.tag)
            case UInt8(ascii: "g"): return .get(try parts.requiredPath(), query: parts.query)
            case UInt8(ascii: "s"): return .statistics
            default: break
            }
        }
        if action.equals("auth") || action.equals("gauth") {
            guard let credential = parts.credential else { throw .missing("credential \"cred\"") }
            return .authenticate(credential: credential)
        }
        if action.equals("unauth") { return .unauthenticate }
        // The JavaScript SDK misspells the last one (wire-protocol 2.2).
        if action.equals("appcheck") || action.equals("unappcheck") || action.equals("unappeck") { return .appCheck }
        return .unknown(action: Array(action))
    }
}

/// The members of a request body that any action uses.
private struct RequestParts {
    var path: [UInt8]?
    var data: UnsafeRawBufferPointer?
    var hash: [UInt8]?
    var query: [UInt8]?
    var tag: Int64?
    var credential: [UInt8]?

    init(_ body: UnsafeRawBufferPointer?) throws {
        guard let body, body.first == UInt8(ascii: "{") else { return }
        var reader = JSONReader(body)
        var parts = (
            path: [UInt8]?.none, data: UnsafeRawBufferPointer?.none, hash: [UInt8]?.none, query: [UInt8]?.none,
            tag: Int64?.none, credential: [UInt8]?.none
        )
        do {
            try reader.forEachMember { (reader, key) throws(JSONError) in
                let isString = try reader.peek() == UInt8(ascii: "\"")
                if key.equals("p"), isString {
                    parts.path = try reader.string()
                } else if key.equals("d") {
                    parts.data = try reader.skipValue()
                } else if key.equals("h"), isString {
                    parts.hash = try reader.string()
                } else if key.equals("q") {
                    parts.query = Array(try reader.skipValue())
                } else if key.equals("t") {
                    parts.tag = try reader.integer()
                } else if key.equals("cred"), isString {
                    parts.credential = try reader.string()
                } else {
                    _ = try reader.skipValue()
                }
            }
        } catch {
            throw RequestError.value(error)
        }
        (path, data, hash, query, tag, credential) = parts
    }

    func requiredPath() throws(RequestError) -> Path {
        guard let path else { throw .missing("path \"p\"") }
        do throws(PathError) { return try Path(parsing: path) } catch { throw .path(error) }
    }

    private func requiredTarget() throws(RequestError) -> WriteTarget {
        guard let path else { throw .missing("path \"p\"") }
        do throws(PathError) { return try WriteTarget(parsing: path) } catch { throw .path(error) }
    }

    func put() throws(RequestError) -> ClientRequest {
        let target = try requiredTarget()
        guard let data else { throw .missing("data \"d\"") }
        return .put(try WireAssignment.parse(data, for: target), hash: hash)
    }

    func merge() throws(RequestError) -> ClientRequest {
        let base = try requiredPath()
        guard let data, data.first == UInt8(ascii: "{") else { throw .missing("object \"d\"") }
        return .merge(base, try WireAssignment.parse(data, base: base))
    }
}

extension WireAssignment {
    /// Reads a value for a place, whose depth limits that of the value.
    package static func parse(
        _ text: UnsafeRawBufferPointer, for target: WriteTarget
    ) throws(RequestError) -> WireAssignment {
        let limits = CanonicalJSON.Limits(depth: Path.maximumDepth - target.path.depth)
        do throws(JSONError) {
            let (value, hasServerValues) = try CanonicalJSON.parse(text.bytes, limits: limits)
            if target.isPriority, !hasServerValues, !value.isPriority { throw .init(.invalidPriority, at: 0) }
            return WireAssignment(target: target, value: value, hasServerValues: hasServerValues)
        } catch {
            throw .value(error)
        }
    }

    /// Reads the object of an update: keys are paths relative to `base`, each value replaces what is there.
    package static func parse(_ text: UnsafeRawBufferPointer, base: Path) throws(RequestError) -> [WireAssignment] {
        var raw: [(key: [UInt8], value: UnsafeRawBufferPointer)] = []
        var reader = JSONReader(text)
        do throws(JSONError) {
            try reader.forEachMember { (reader, key) throws(JSONError) in
                var utf8: [UInt8] = []
                JSONText.appendUnescaped(key, to: &utf8)
                raw.append((utf8, try reader.skipValue()))
            }
            try reader.finish()
        } catch {
            throw .value(error)
        }
        var assignments: [WireAssignment] = []
        assignments.reserveCapacity(raw.count)
        for (key, text) in raw {
            let relative: WriteTarget
            do throws(PathError) { relative = try WriteTarget(parsing: key) } catch { throw .path(error) }
            if relative.path.isRoot, !relative.isPriority { throw .path(.key(.empty, index: 0)) }
            let target = WriteTarget(path: base.appending(relative.path), isPriority: relative.isPriority)
            guard target.path.depth <= Path.maximumDepth else { throw .path(.tooDeep) }
            assignments.append(try parse(text, for: target))
        }
        try refuseOverlaps(assignments)
        return assignments
    }

    /// No path of an update may lie inside another (wire-protocol 3.2). O(n log n): in path order, what lies inside comes right behind.
    private static func refuseOverlaps(_ assignments: [WireAssignment]) throws(RequestError) {
        guard assignments.count > 1 else { return }
        let targets = assignments.map(\.target).sorted { $0.path < $1.path }
        for (earlier, later) in zip(targets, targets.dropFirst()) {
            // A priority overlaps with its own node only.
            let overlaps = earlier.isPriority ? earlier.path == later.path : earlier.path.contains(later.path)
            if overlaps { throw .overlappingPaths }
        }
    }
}
