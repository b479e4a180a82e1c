import HearthDelivery
package import HearthServerCodecs
import HearthJSONTree
import HearthJSONValues
import HearthRealtimeDatabase
import HearthSecurityRules
import HearthTreeQueries
import HearthHTTPResponses

/// Why an operation would be allowed or denied (administration.md 1).
extension RESTExchange {
    /// Translates a request for an explanation: an object with `operation`, `path`, `value` of a write, `query` of a
    /// read with conditions, and `auth`, whom the rules are to see.
    package init(explaining body: [UInt8], _ head: RequestHead) throws(RESTError) {
        guard let object = (try? JSONValue(parsing: body))?.object else { throw .notAnObject }
        guard let path = object["path"]?.text else { throw RESTError("path is missing") }
        let target: WriteTarget
        do throws(PathError) { target = try WriteTarget(parsing: path) } catch { throw RESTError(error) }
        let operation: Operation
        switch (object["operation"]?.text, object["value"]) {
        case ("read", nil):
            guard !target.isPriority else { throw RESTError("a priority cannot be read alone") }
            operation = .get(target.path)
        case ("find", nil):
            guard !target.isPriority else { throw RESTError("a priority has no children to find") }
            operation = .get(target.path, query: try Self.conditions(object["query"]))
        case ("write", let value?):
            var text: [UInt8] = []
            value.append(to: &text)
            operation = .set(target, try RESTBody.value(&text, for: target))
        case ("write", nil): throw .noData
        default: throw RESTError("operation is \"read\", \"find\" with a query, or \"write\" with a value")
        }
        let principal: Principal
        do throws(JSONError) {
            var auth: [UInt8] = []
            (object["auth"] ?? .null).append(to: &auth)
            principal = try Principal(auth: auth)
        } catch {
            throw RESTError("auth is not a JSON object, nor null")
        }
        self.init(
            databaseName: head.databaseName, operation: .explain(operation, as: principal), action: .explain,
            target: target, parameters: try RESTParameters(head.query))
    }

    private static func conditions(_ value: JSONValue?) throws(RESTError) -> Query {
        guard let value else { throw RESTError("the query is missing") }
        var text: [UInt8] = []
        value.append(to: &text)
        do throws(QueryError) { return try ConditionParser.query(text) } catch {
            throw RESTError("invalid query: \(error)")
        }
    }

    func response(with explanation: Explanation) -> HTTPResponse {
        HTTPResponse(json: laidOut(explanation.json))
    }
}
