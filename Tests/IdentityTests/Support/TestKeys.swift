import Identity
import TestSupport

/// Key pairs that are made once for all tests.
enum TestKeys {
    static let first = make()
    static let second = make()

    private static func make() -> SigningKey {
        do { return try SigningKey.make() } catch { preconditionFailure("no key: \(error)") }
    }
}

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

/// A JSON object from its text.
func object(_ text: String) -> JSONObject {
    guard let object = (try? JSONValue(parsing: bytes(text)))?.object else {
        preconditionFailure("\(text) is no object")
    }
    return object
}

/// What two hexadecimal digits each stand for.
func hex(_ digits: String) -> [UInt8] {
    let digits = Array(digits.utf8)
    return stride(from: 0, to: digits.count, by: 2).map { index in
        guard let byte = UInt8(text(Array(digits[index..<index + 2])), radix: 16) else {
            preconditionFailure("no digits")
        }
        return byte
    }
}

/// A folder with a key of a server in it, which is the same for all tests: making one takes its time.
struct KeyFolder {
    private let folder = TemporaryFolder()

    /// When the key begins to sign.
    static let start: Int64 = 1_700_000_000

    private static let file: [UInt8] = {
        let folder = TemporaryFolder()
        do { _ = try KeyStore(folder: folder.path, now: start) } catch { preconditionFailure("no key: \(error)") }
        return TemporaryFolder.contents(of: folder.path + "/signing-keys.json")
    }()

    init() { TemporaryFolder.write(Self.file, to: path + "/signing-keys.json") }

    var path: String { folder.path }
}
