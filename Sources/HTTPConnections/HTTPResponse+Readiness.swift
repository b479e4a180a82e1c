import HearthDatabaseHost
import HearthHTTPCodec
import HearthServerCodecs
import HearthHTTPResponses

extension HTTPResponse {
    /// - parameter isDetailed: for administrators.
    static func readiness(_ readiness: Readiness, isDetailed: Bool) -> HTTPResponse {
        guard let problem = isDetailed ? readiness.problem : readiness.publicProblem else {
            return HTTPResponse(text: "ready\n")
        }
        return HTTPResponse(.serviceUnavailable, text: "not ready: \(problem)\n")
    }
}
