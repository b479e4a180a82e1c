import HearthJSONTree
import HearthTreeText

/// The argument of `child()`: keys between slashes. One slash may come first; any other part that is not a key,
/// including an empty one, makes a path without a value (docs/rules.md 3.2).
enum ChildPath {
    /// Nil if the text names nothing.
    static func segments(of utf8: [UInt8]) -> [UInt8]? {
        var segments: [UInt8] = []
        return utf8.withUnsafeBytes { append($0, to: &segments) } ? segments : nil
    }

    /// Appends the encoded segments. False if the text names nothing; then some may have been appended.
    static func append(_ text: UnsafeRawBufferPointer, to segments: inout [UInt8]) -> Bool {
        var start = text.first == UInt8(ascii: "/") ? 1 : 0
        while true {
            var end = start
            while end < text.count, text[end] != UInt8(ascii: "/") { end += 1 }
            guard Path.appendSegment(ofKey: text.part(start..<end), to: &segments) else { return false }
            if end == text.count { return true }
            start = end + 1
        }
    }
}
