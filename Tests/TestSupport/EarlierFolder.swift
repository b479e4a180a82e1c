/// A copy of a data folder that an earlier version of the server has written (`Tests/DataFolders`).
package struct EarlierFolder: Sendable {
    package static let all = ["0.1.0-first", "0.1.0", "0.2.0-preview"]

    private let folder = TemporaryFolder()
    package let version: String

    package init(_ version: String) {
        self.version = version
        let tests = "/" + #filePath.split(separator: "/").dropLast(2).joined(separator: "/")
        let source = "\(tests)/DataFolders/\(version)"
        for name in TemporaryFolder.files(in: source) {
            TemporaryFolder.write(TemporaryFolder.contents(of: "\(source)/\(name)"), to: "\(folder.path)/\(name)")
        }
    }

    package var path: String { folder.path }
}
