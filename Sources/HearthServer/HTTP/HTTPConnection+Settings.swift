import EventLoop
import HTTPCodec
import Identity
import JSONTree
import RealtimeDatabase
import SecurityRules

/// `/.settings/….json`, for administrators (rules 1).
extension HTTPConnection {
    func answerSettings(_ head: RequestHead, _ body: [UInt8], _ writer: ResponseWriter) {
        admit(head, writer) { connection in connection.answerAdmitted(head, body, writer) }
    }

    private func answerAdmitted(_ head: RequestHead, _ body: [UInt8], _ writer: ResponseWriter) {
        let services = context.services
        let database: String
        do throws(DatabaseDirectory.LookUpError) {
            database = try services.directory.name(head.databaseName)
        } catch {
            return respond(RESTError(error).response, with: writer)
        }
        let isRead = head.method == .get || head.method == .head
        switch String(decoding: head.path, as: UTF8.self) {
        case "/.settings/rules.json" where isRead:
            let isStrict = head.query.first("format").map { $0.elementsEqual("strict".utf8) } ?? false
            respond(HTTPResponse(json: services.rules.text(of: database, isStrict: isStrict)), with: writer)
        case "/.settings/rules.json" where head.method == .put:
            let isDryRun = head.query.first("dryRun").map { $0.elementsEqual("true".utf8) } ?? false
            work = .beside
            context.besideLoop(self) {
                Self.setRules(body, of: database, isDryRun: isDryRun, services)
            } then: { connection, response in
                connection.work = .none
                connection.respond(response, with: writer)
                connection.readOn()
            }
        case "/.settings/denials.json" where isRead:
            respond(HTTPResponse(json: services.denials.json(of: database)), with: writer)
        case "/.settings/explain.json" where head.method == .post:
            ask(
                Result { () throws(RESTError) in try RESTExchange(explaining: body, head) }, .nobody, nil, writer)
        case "/.settings/explain.json": respond(RESTError.methodNotAllowed("POST").response, with: writer)
        case "/.settings/rules.json": respond(RESTError.methodNotAllowed("GET, HEAD, PUT").response, with: writer)
        case "/.settings/denials.json": respond(RESTError.methodNotAllowed("GET, HEAD").response, with: writer)
        default: respond(RESTError.notFound.response, with: writer)
        }
    }

    /// All or nothing: a file with a mistake changes nothing.
    private static func setRules(
        _ text: [UInt8], of database: String, isDryRun: Bool, _ services: Services
    ) -> HTTPResponse {
        do throws(RulesError) {
            let program = try RulesProgram(parsing: text)
            if isDryRun { return HTTPResponse(json: Array(#"{"status":"ok"}"#.utf8)) }
            do throws(PrivateFile.Failure) {
                try services.rules.set(program, for: database)
            } catch {
                services.log.error("rules.write-failed", [("database", database), ("error", error.description)])
                return HTTPResponse(.internalServerError, error: "the rules could not be kept: \(error.description)")
            }
            services.log.info("rules.set", [("database", database)])
            services.warnOfOpenRules(program, in: database)
            services.databases.rulesChanged()
            return HTTPResponse(json: Array(#"{"status":"ok"}"#.utf8))
        } catch {
            return HTTPResponse(.badRequest, error: "\(error)\n")
        }
    }
}
