import Glibc
import HearthServerFiles
import HearthSQLite
package import HearthStorageErrors

extension Accounts {
    /// The result of ``check(folder:)``.
    package struct Findings: Equatable, Sendable {
        /// A line for each thing that is damaged, 100 of a kind at most.
        package var problems: [String] = []
        /// The file has a newer format than this version reads, which is the only problem.
        package var isNewer = false
    }

    /// Looks for damage in the accounts of a data folder, whether a server has them open or not. Nil if there are no
    /// accounts. Files of versions that kept no checksums get them when a server opens them.
    package static func check(folder: String) -> Findings? {
        let path = file(in: folder)
        guard access(path, F_OK) == 0 else { return nil }
        do throws(StorageError) {
            let connection = try Connection(path: path, mode: .readOnly)
            _ = try connection.formatVersion(upTo: AccountFile.version)
            let check = try connection.prepare("PRAGMA integrity_check(100)")
            var problems: [String] = []
            while try check.step() { problems.append(check.text(0)) }
            if problems == ["ok"] { problems = [] }
            try connection.addRowChecksum()
            for table in AccountTable.allCases where try table.hasChecksums(in: connection) {
                problems += try table.damagedRows(in: connection, max: 100)
            }
            return Findings(problems: problems.map { "\(path): \($0)" })
        } catch .newerFormat(let path, let found, let known) {
            let error = StorageError.newerFormat(path: path, found: found, known: known)
            return Findings(problems: [error.message], isNewer: true)
        } catch {
            return Findings(problems: ["\(path): \(error.message)"])
        }
    }

    /// Copies the accounts into a file that is not there yet, as they are at one moment, while a server uses them or
    /// not. The copy is not synced. False if there are no accounts.
    package static func copy(from folder: String, to path: String) throws(StorageError) -> Bool {
        let source = file(in: folder)
        guard access(source, F_OK) == 0 else { return false }
        let connection = try Connection(path: source, mode: .readOnly)
        let copy = try connection.prepare("VACUUM INTO ?")
        copy.bind(1, path)
        try copy.run()
        return true
    }

    /// Where the accounts of a data folder are.
    package static func file(in folder: String) -> String { folder + "/accounts.sqlite" }
}
