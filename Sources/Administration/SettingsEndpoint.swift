package import HearthAccess
import HearthClusterSharing
import HearthDatabaseHost
import HearthHTTPCodec
package import HearthServerCodecs
package import HearthHTTPResponses
import HearthJSONValues
import HearthREST
import HearthSecurityRules
import HearthServerLog
import HearthSystem

/// The settings of one database.
package struct SettingsEndpoint: Sendable {
    let database: String
    let server: AdministeredServer
    /// The name of the administrator.
    let administrator: String

    package init(database: String, server: AdministeredServer, administrator: String) {
        self.database = database
        self.server = server
        self.administrator = administrator
    }

    /// The result of a PUT, POST or DELETE.
    package enum Change {
        case made(HTTPResponse)
        /// All nodes of the cluster are to take over a text (SharedDocuments.swift).
        case shared(name: String, [UInt8], AuditEvent)

        /// Does the remaining work, and calls back with the answer, perhaps later on another thread.
        package func finish(_ endpoint: SettingsEndpoint, _ then: @escaping @Sendable (HTTPResponse) -> Void) {
            switch self {
            case .made(let response): then(response)
            case .shared(let name, let text, let event):
                endpoint.share(name, text) { failure in then(endpoint.response(to: event, failure)) }
            }
        }
    }

    /// May take long.
    package func change(_ head: RequestHead, _ body: [UInt8]) -> Change {
        let isDryRun = head.query.first("dryRun").map { $0.elementsEqual("true".utf8) } ?? false
        if server.sharing != nil, head.method == .put, !isDryRun {
            do throws(RulesError) {
                switch head.settingsPath {
                case "/.settings/rules.json":
                    let program = try RulesProgram(parsing: body)
                    server.warnOfOpenRules(program, in: database)
                    return .shared(name: SharedDocument.rulesName(database), body, event(.rules))
                case "/.settings/settings.json":
                    _ = try DatabaseSettings(parsing: body)
                    return .shared(name: SharedDocument.settingsName(database), body, event(.settings))
                default: break
                }
            } catch {
                return .made(HTTPResponse(.badRequest, error: "\(error)\n"))
            }
        }
        return .made(response(to: head, body))
    }

    fileprivate func share(
        _ name: String, _ text: [UInt8], _ then: @escaping @Sendable (SharedDocuments.Failure?) -> Void
    ) {
        guard let sharing = server.sharing else { return then(.init(description: "the server is shutting down")) }
        sharing.documents.put(name, text, then: then)
    }

    fileprivate func response(to event: AuditEvent, _ failure: SharedDocuments.Failure?) -> HTTPResponse {
        if let failure { return HTTPResponse(.serviceUnavailable, error: failure.description) }
        server.trail.note(event)
        return HTTPResponse(json: Array(#"{"status":"ok"}"#.utf8))
    }

    private func event(_ kind: AuditEvent.Kind) -> AuditEvent {
        AuditEvent(kind, [("by", administrator), ("database", database)])
    }

    /// A PUT, POST or DELETE may take long.
    package func response(to head: RequestHead, _ body: [UInt8]) -> HTTPResponse {
        let isRead = head.method == .get || head.method == .head
        switch head.settingsPath {
        case "/.settings/rules.json" where isRead:
            let isStrict = head.query.first("format").map { $0.elementsEqual("strict".utf8) } ?? false
            return HTTPResponse(json: server.rules.text(of: database, isStrict: isStrict))
        case "/.settings/rules.json" where head.method == .put:
            let isDryRun = head.query.first("dryRun").map { $0.elementsEqual("true".utf8) } ?? false
            let warns = head.query.first("warnings").map { $0.elementsEqual("true".utf8) } ?? false
            return setRules(body, isDryRun: isDryRun, warns: warns)
        case "/.settings/settings.json" where isRead:
            return HTTPResponse(json: server.rules.settingsText(of: database))
        case "/.settings/settings.json" where head.method == .put:
            let isDryRun = head.query.first("dryRun").map { $0.elementsEqual("true".utf8) } ?? false
            return setSettings(body, isDryRun: isDryRun)
        case "/.settings/settings.json" where head.method == .delete: return removeSettings()
        case "/.settings/denials.json" where isRead: return HTTPResponse(json: server.denials.json(of: database))
        case "/.settings/rules.json": return RESTError.methodNotAllowed("GET, HEAD, PUT").response
        case "/.settings/settings.json": return RESTError.methodNotAllowed("GET, HEAD, PUT, DELETE").response
        case "/.settings/denials.json": return RESTError.methodNotAllowed("GET, HEAD").response
        case "/.settings/test.json" where head.method == .post: return testRules(body)
        case "/.settings/explain.json", "/.settings/test.json": return RESTError.methodNotAllowed("POST").response
        default: return RESTError.notFound.response
        }
    }

    /// All or nothing, as with rules.
    private func setSettings(_ text: [UInt8], isDryRun: Bool) -> HTTPResponse {
        do throws(RulesError) {
            let settings = try DatabaseSettings(parsing: text)
            if isDryRun { return HTTPResponse(json: Array(#"{"status":"ok"}"#.utf8)) }
            do throws(PrivateFile.Failure) {
                try server.rules.set(settings, for: database)
            } catch {
                server.log.error("settings.write-failed", [("database", database), ("error", error.description)])
                return HTTPResponse(.internalServerError, error: "the settings could not be kept: the log says why")
            }
            server.trail.note(event(.settings))
            server.databases.rulesChanged()
            return HTTPResponse(json: Array(#"{"status":"ok"}"#.utf8))
        } catch {
            return HTTPResponse(.badRequest, error: "\(error)\n")
        }
    }

    /// Gives the database back the settings of the server's file. Settings shared by a cluster are replaced, not
    /// removed.
    private func removeSettings() -> HTTPResponse {
        guard server.sharing == nil else {
            return HTTPResponse(.badRequest, error: "in a cluster, settings are replaced: PUT those that are to hold\n")
        }
        do throws(PrivateFile.Failure) {
            if try server.rules.removeSettings(of: database) {
                server.trail.note(event(.settings))
                server.databases.rulesChanged()
            }
            return HTTPResponse(json: Array(#"{"status":"ok"}"#.utf8))
        } catch {
            server.log.error("settings.write-failed", [("database", database), ("error", error.description)])
            return HTTPResponse(.internalServerError, error: "the settings could not be removed: the log says why")
        }
    }

    /// All or nothing: a file with a mistake changes nothing.
    ///
    /// - parameter warns: a dry run tells whether the rules are open.
    private func setRules(_ text: [UInt8], isDryRun: Bool, warns: Bool) -> HTTPResponse {
        do throws(RulesError) {
            let program = try RulesProgram(parsing: text)
            if isDryRun {
                let answer = JSONObject(["status": .text("ok"), "open": warns ? .bool(program.isOpen) : nil])
                return HTTPResponse(json: answer.bytes)
            }
            do throws(PrivateFile.Failure) {
                try server.rules.set(program, for: database)
            } catch {
                server.log.error("rules.write-failed", [("database", database), ("error", error.description)])
                return HTTPResponse(.internalServerError, error: "the rules could not be kept: the log says why")
            }
            server.trail.note(event(.rules))
            server.warnOfOpenRules(program, in: database)
            server.databases.rulesChanged()
            return HTTPResponse(json: Array(#"{"status":"ok"}"#.utf8))
        } catch {
            return HTTPResponse(.badRequest, error: "\(error)\n")
        }
    }

    /// Runs a file of test cases, on data of its own.
    private func testRules(_ body: [UInt8]) -> HTTPResponse {
        do throws(RESTError) {
            let question = try RulesTestQuestion(parsing: body)
            return question.response(inForce: server.rules.program(for: database) ?? .open)
        } catch {
            return error.response
        }
    }
}
