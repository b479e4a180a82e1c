import HearthJSONTree
import HearthSecurityRules
import HearthTestSupport
import HearthTreeQueries
import HearthRealtimeDatabase

/// A database whose list `l` is asked with conditions.
struct QueriedDatabase {
    let database: Database

    init(scannedAtOnceMax: Int = 1000) {
        database = Database(index: 0, store: MemoryRowStore(), sequence: 0, scannedAtOnceMax: scannedAtOnceMax)
    }

    /// Indexes as the setting `.index` of the list.
    func index(_ text: String, rules: [IndexDefinition] = []) throws {
        let settings = "{\"settings\":{\"l\":{\".index\":\(text)}}}"
        database.setIndexes(rules, try DatabaseSettings(parsing: Array(settings.utf8)))
        while database.isBuildingIndex { try database.buildIndex(childrenMax: 1000) }
    }

    static func json(_ text: String) throws -> CanonicalJSON { try CanonicalJSON.parse(Array(text.utf8)).value }

    @discardableResult
    func set(_ path: String, _ text: String) throws -> [Output] {
        run([.set(WriteTarget(path: try Path(parsing: path)), IncomingValue(json: try Self.json(text)))])
    }

    @discardableResult
    func run(_ operations: [HearthRealtimeDatabase.Operation]) -> [Output] { run(operations) {} }

    /// - parameter body: runs between the steps of scans.
    func run<Problem: Error>(
        _ operations: [HearthRealtimeDatabase.Operation], whileScanning body: () throws(Problem) -> Void
    ) throws(Problem) -> [Output] {
        var outputs: [Output] = []
        for (number, operation) in operations.enumerated() {
            let request = Request(
                connection: DatabaseBench.reader, number: Int64(number), principal: .administrator, operation: operation
            )
            if database.mustScan(for: request, now: 0) {
                while database.isScanning {
                    try body()
                    _ = database.scanSome(childrenMax: 7)
                }
            }
            _ = database.process([request], now: 0)
            database.committed(through: database.sequence)
            outputs += database.takeReady()
            database.endScanUse(by: request)
        }
        return outputs
    }

    struct Page {
        /// Without what tells how it was found.
        var text: String
        var keys: [String]
        var next: [UInt8]?
        var examined: Int?
        var index: String?
        var needs: String?
    }

    private struct NoReply: Error {}

    func page(_ query: Query, whileScanning: () throws -> Void = {}) throws -> Page {
        let outputs = try run([.get("l", query: query)]) { () throws(any Error) in try whileScanning() }
        guard
            case .reply(_, _, .value(let value))? = outputs.last(where: { if case .reply = $0 { true } else { false } })
        else { throw NoReply() }
        let page = Node(value)
        func string(_ path: Path) -> String? {
            page.value(at: path).canonical.stringUTF8.map { String(decoding: $0, as: UTF8.self) }
        }
        return Page(
            text: page.setting(.null, at: "explain").setting(.null, at: "needs").canonical.description,
            keys: page.value(at: "items").children.compactMap { item in
                item.node.value(at: "key").canonical.stringUTF8.map { String(decoding: $0, as: UTF8.self) }
            },
            next: page.value(at: "next").canonical.stringUTF8,
            examined: Int(page.value(at: "explain/examined").canonical.description), index: string("explain/index"),
            needs: string("needs"))
    }

    func page(_ text: String) throws -> Page { try page(ConditionParser.query(Array(text.utf8))) }
}
