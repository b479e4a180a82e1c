import HearthSystem
import HearthTreeStorage

/// The texts of the cluster that this node's own documents were last made of, in files of the data folder. A node that
/// starts tells by them what was changed in its folder from what the others have changed meanwhile.
struct DocumentBases {
    let folder: String

    private func path(_ name: String) -> String { "\(folder)/\(name)\(FolderContents.baseSuffix)" }

    /// Nil if none was kept.
    func text(of name: String) -> [UInt8]? { (try? PrivateFile.read(path(name))) ?? nil }

    func keep(_ text: [UInt8], of name: String) throws(SharedDocument.Failure) {
        if self.text(of: name) == text { return }
        do throws(PrivateFile.Failure) { try PrivateFile.replace(path(name), with: text) } catch {
            throw SharedDocument.Failure(description: error.description)
        }
    }
}
