import HearthIdentity
import HearthTestSupport

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
