import HTTPCodec
import JSONTree
import RealtimeDatabase

/// Why a request is refused before it reaches the database.
enum RESTError: Error {
    case invalidPath
    case unknownDatabase

    var response: HTTPResponse {
        switch self {
        case .invalidPath: HTTPResponse(.badRequest, error: "Invalid path: Invalid token in path")
        case .unknownDatabase: HTTPResponse(.forbidden, error: "Invalid Firebase database name")
        }
    }
}

/// One request for data on its way: what it asks of the database, and how the reply becomes a response (rest 3–6).
struct RESTExchange {
    let head: RequestHead
    let database: UInt32
    let operation: Operation

    init(_ head: RequestHead, body: [UInt8], services: Services) throws(RESTError) {
        self.head = head
        do throws(DatabaseDirectory.LookUpError) {
            database = try services.directory.index(of: head.databaseName)
        } catch {
            throw .unknownDatabase
        }
        let path: Path
        do throws(PathError) {
            path = try Path(percentEncoded: Array(head.path.dropLast(5)))
        } catch {
            throw .invalidPath
        }
        operation = .get(path)
    }

    func response(to reply: Reply) -> HTTPResponse {
        switch reply {
        case .value(let value, _): HTTPResponse(json: value.bytes)
        case .done, .listening: HTTPResponse.empty(.noContent)
        case .failed(let failure): HTTPResponse(.serviceUnavailable, error: failure.message)
        }
    }
}
