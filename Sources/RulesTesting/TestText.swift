import HearthJSONTree
import HearthSecurityRules

/// A test file whose parts are read one by one, each with its position.
struct TestText {
    let bytes: [UInt8]

    /// The members of an object.
    typealias Members = [String: Range<Int>]

    func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    /// - parameter known: the names that may occur; nil for any.
    func members(of range: Range<Int>, _ known: [String]? = nil) throws(Mistake) -> Members {
        var members: Members = [:]
        var unwanted: Mistake?
        try read(range) { (reader) throws(JSONError) in
            try reader.forEachMember { (reader, key) throws(JSONError) in
                let name = String(decoding: JSONStringText(raw: key, hasEscapes: true).utf8, as: UTF8.self)
                _ = try reader.peek()
                let start = range.lowerBound + reader.offset
                _ = try reader.skipValue()
                if let known, !known.contains(name) {
                    unwanted = unwanted ?? .unknown("member", name, known: known, at: start)
                }
                if members.updateValue(start..<range.lowerBound + reader.offset, forKey: name) != nil {
                    unwanted = unwanted ?? Mistake("'\(name)' stands here twice", at: start)
                }
            }
        }
        if let unwanted { throw unwanted }
        return members
    }

    func elements(of range: Range<Int>) throws(Mistake) -> [Range<Int>] {
        try read(range) { (reader) throws(JSONError) in
            var elements: [Range<Int>] = []
            try reader.expect(UInt8(ascii: "["))
            while try reader.peek() != UInt8(ascii: "]") {
                let start = range.lowerBound + reader.offset
                _ = try reader.skipValue()
                elements.append(start..<range.lowerBound + reader.offset)
                guard try reader.peek() == UInt8(ascii: ",") else { break }
                try reader.expect(UInt8(ascii: ","))
            }
            try reader.expect(UInt8(ascii: "]"))
            return elements
        }
    }

    func utf8(_ range: Range<Int>) throws(Mistake) -> [UInt8] {
        try read(range) { (reader) throws(JSONError) in try reader.string() }
    }

    func string(_ range: Range<Int>) throws(Mistake) -> String { String(decoding: try utf8(range), as: UTF8.self) }

    func integer(_ range: Range<Int>) throws(Mistake) -> Int64 {
        try read(range) { (reader) throws(JSONError) in try reader.integer() }
    }

    func integer(_ name: String, _ range: Range<Int>, in allowed: ClosedRange<Int64>) throws(Mistake) -> Int64 {
        let number = try integer(range)
        guard allowed.contains(number) else {
            throw Mistake(
                "'\(name)' is a number from \(allowed.lowerBound) to \(allowed.upperBound)", at: range.lowerBound)
        }
        return number
    }

    func bool(_ range: Range<Int>) -> Bool? { ["true": true, "false": false][text(range)] }

    /// A value, whose server values are still to be resolved.
    func value(_ range: Range<Int>) throws(Mistake) -> CanonicalJSON {
        try value(range, CanonicalJSON.Limits())
    }

    /// The answer to a question: such a value, or a list of differences, which hold values.
    func answer(_ range: Range<Int>) throws(Mistake) -> CanonicalJSON { try value(range, TestedPast.differenceLimits) }

    private func value(_ range: Range<Int>, _ limits: CanonicalJSON.Limits) throws(Mistake) -> CanonicalJSON {
        do throws(JSONError) {
            return try CanonicalJSON.parse(Array(bytes[range]), limits: limits).value
        } catch {
            throw Mistake("\(error)", at: range.lowerBound + error.offset)
        }
    }

    func path(_ range: Range<Int>) throws(Mistake) -> Path { try path(try string(range), at: range.lowerBound) }

    func path(_ text: String, at offset: Int) throws(Mistake) -> Path {
        do throws(PathError) {
            return try Path(parsing: text)
        } catch {
            throw Mistake("'\(text)' is not a path: \(error)", at: offset)
        }
    }

    func target(_ range: Range<Int>) throws(Mistake) -> WriteTarget {
        let text = try string(range)
        do throws(PathError) {
            return try WriteTarget(parsing: text)
        } catch {
            throw Mistake("'\(text)' is not a path: \(error)", at: range.lowerBound)
        }
    }

    func read<Result>(
        _ range: Range<Int>, _ body: (inout JSONReader) throws(JSONError) -> Result
    ) throws(Mistake) -> Result {
        do throws(JSONError) {
            return try withBytes(of: range) { (bytes) throws(JSONError) in
                var reader = JSONReader(bytes)
                let result = try body(&reader)
                try reader.finish()
                return result
            }
        } catch {
            throw Mistake("\(error)", at: range.lowerBound + error.offset)
        }
    }

    func withBytes<Result, Failure>(
        of range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try bytes.span.bytes.withUnsafeBytes { (bytes) throws(Failure) in try body(bytes.part(range)) }
    }
}
