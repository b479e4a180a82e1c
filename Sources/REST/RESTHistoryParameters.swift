import HearthHTTPCodec
import HearthServerCodecs
import HearthJSONTree
import HearthWireProtocol

/// The parameters of a request at `/path/.history.json` (additions.md 9). An older server refuses that path.
struct RESTHistoryParameters {
    private var numbers: [String: Int64] = [:]
    private static let names: Set<String> = ["at", "seq", "from", "fromSeq", "to", "toSeq", "before", "limit"]

    init(_ query: QueryString, _ parameters: RESTParameters) throws(RESTError) {
        guard !parameters.isShallow, parameters.filters.isEmpty else {
            throw RESTError("the past cannot be queried")
        }
        for parameter in query {
            let name = String(decoding: parameter.name, as: UTF8.self)
            guard Self.names.contains(name), numbers[name] == nil else { continue }
            guard let number = Int64(String(decoding: parameter.value, as: UTF8.self)), number >= 0 else {
                throw RESTError("\(name) must be a whole number")
            }
            numbers[name] = number
        }
    }

    func request(at target: WriteTarget, by method: HTTPMethod) throws(RESTError) -> HistoryRequest {
        if target.isPriority { throw RESTError("a priority has no history of its own") }
        return HistoryRequest(target.path, try command(by: method))
    }

    private func command(by method: HTTPMethod) throws(RESTError) -> HistoryRequest.Command {
        let limit = numbers["limit"].map { Int(clamping: $0) }
        let moment = moment("at", "seq")
        switch method {
        case .post:
            guard let moment else { throw RESTError("restoring needs at or seq") }
            return .restore(moment)
        case .get, .head:
            if let moment { return .get(moment) }
            if let from = self.moment("from", "fromSeq") {
                return .difference(from: from, to: self.moment("to", "toSeq"), limit: limit)
            }
            return .log(before: numbers["before"].map { UInt64(clamping: $0) }, limit: limit)
        default: throw .methodNotAllowed("GET, HEAD, POST, OPTIONS")
        }
    }

    private func moment(_ time: String, _ sequence: String) -> HistoryRequest.Moment? {
        if let sequence = numbers[sequence] { return .sequence(UInt64(clamping: sequence)) }
        return numbers[time].map { .time($0) }
    }
}
