import HearthBytes
import CHearthConsole
import CHearthZlib
import HearthJSONWebTokens
import Synchronization
import HearthSystem
import HearthHTTPResponses

/// The files of the console: those in the program, or, while somebody works on them, those of a folder.
final class ConsoleFiles: Sendable {
    struct File: Sendable {
        let type: HTTPResponse.ContentType
        let bytes: [UInt8]
        let compressed: [UInt8]
        /// Strong validators of the two forms, with their quotes.
        let tag: [UInt8]
        let compressedTag: [UInt8]

        init(_ bytes: [UInt8], _ type: HTTPResponse.ContentType) {
            self.type = type
            self.bytes = bytes
            compressed = Gzip.compress(bytes)
            let digest = Hexadecimal.encode(Cryptography.sha256(bytes)).prefix(32)
            tag = Array("\"".utf8) + digest + Array("\"".utf8)
            compressedTag = Array("\"".utf8) + digest + Array("-gzip\"".utf8)
        }
    }

    /// Nil for the files in the program.
    private let folder: String?
    private let kept = Mutex<[String: File]>([:])

    init(folder: String?) { self.folder = folder }

    /// Compresses a file when it is asked for first: some milliseconds.
    ///
    /// - parameter name: as in the URL, below `/console/`; that of the page is empty.
    subscript(name: String) -> File? {
        let name = name.isEmpty ? "index.html" : name
        guard let type = Self.type(of: name) else { return nil }
        if let folder {
            guard !name.contains("/"), let bytes = FileBytes.read("\(folder)/\(name)") else { return nil }
            return File(bytes, type)
        }
        return kept.withLock { kept in
            if let file = kept[name] { return file }
            guard let bytes = Self.embedded(name) else { return nil }
            let file = File(bytes, type)
            kept[name] = file
            return file
        }
    }

    /// Those in the program.
    static let names = Set(assets.map { String(cString: $0.name) })

    private static var assets: UnsafeBufferPointer<console_asset> {
        // Safe because: the array is constant and as long as the count says.
        UnsafeBufferPointer(start: console_asset_list(), count: console_asset_count())
    }

    private static func embedded(_ name: String) -> [UInt8]? {
        assets.first { String(cString: $0.name) == name }.map { asset in
            Array(UnsafeBufferPointer(start: asset.bytes, count: asset.count))
        }
    }

    private static func type(of name: String) -> HTTPResponse.ContentType? {
        switch name.split(separator: ".").last {
        case "html": .html
        case "css": .css
        case "js": .javaScript
        case "svg": .svg
        default: nil
        }
    }
}

/// RFC 1952.
private enum Gzip {
    static func compress(_ bytes: [UInt8]) -> [UInt8] {
        var stream = z_stream()
        guard czlib_deflate_init_gzip(&stream, 9) == Z_OK else { return bytes }
        defer { deflateEnd(&stream) }
        let bound = Int(deflateBound(&stream, UInt(bytes.count)))
        return bytes.withUnsafeBufferPointer { input in
            [UInt8](unsafeUninitializedCapacity: bound) { output, count in
                // Safe because: zlib only reads the input, and writes no more than the bound.
                stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(bound)
                let code = deflate(&stream, Z_FINISH)
                precondition(code == Z_STREAM_END, "deflateBound is enough for one call")
                count = bound - Int(stream.avail_out)
            }
        }
    }
}
