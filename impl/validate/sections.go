package validate

// sections are the specification's sections about each definition.
var sections = map[string]string{
	"SendMessageRequest": "3.2.1", "SendMessageConfiguration": "3.2.2",
	"SendMessageResponse": "3.1.1", "StreamResponse": "3.2.3",
	"GetTaskRequest": "3.1.3", "ListTasksRequest": "3.1.4", "ListTasksResponse": "3.1.4",
	"CancelTaskRequest": "3.1.5", "SubscribeToTaskRequest": "3.1.6",
	"GetTaskPushNotificationConfigRequest": "3.1.8", "ListTaskPushNotificationConfigsRequest": "3.1.9",
	"ListTaskPushNotificationConfigsResponse": "3.1.9", "DeleteTaskPushNotificationConfigRequest": "3.1.10",
	"GetExtendedAgentCardRequest": "3.1.11",
	"Task":                        "4.1.1", "TaskStatus": "4.1.2", "TaskState": "4.1.3", "Message": "4.1.4", "Role": "4.1.5",
	"Part": "4.1.6", "Artifact": "4.1.7",
	"TaskStatusUpdateEvent": "4.2.1", "TaskArtifactUpdateEvent": "4.2.2",
	"TaskPushNotificationConfig": "4.3.1", "AuthenticationInfo": "4.3.2",
	"AgentCard": "4.4.1", "AgentProvider": "4.4.2", "AgentCapabilities": "4.4.3", "AgentExtension": "4.4.4",
	"AgentSkill": "4.4.5", "AgentInterface": "4.4.6", "AgentCardSignature": "4.4.7",
	"SecurityScheme": "4.5.1", "APIKeySecurityScheme": "4.5.2", "HTTPAuthSecurityScheme": "4.5.3",
	"OAuth2SecurityScheme": "4.5.4", "OpenIdConnectSecurityScheme": "4.5.5", "MutualTlsSecurityScheme": "4.5.6",
	"OAuthFlows": "4.5.7", "AuthorizationCodeOAuthFlow": "4.5.8", "ClientCredentialsOAuthFlow": "4.5.9",
	"DeviceCodeOAuthFlow": "4.5.10", "ImplicitOAuthFlow": "4.5.7", "PasswordOAuthFlow": "4.5.7",
	"SecurityRequirement": "4.4.1", "StringList": "4.4.1",
	"Struct": "3.2.5", "Value": "4.1.6", "Timestamp": "5.6.1",
	"Empty": "3.1.10",
	// What the schema does not define, since the proto does not.
	"JSONRPCError": "9.5", "HTTPError": "11.6", "Status": "11.6", "ErrorDetail": "3.3.2",
}

// memberSections are those of members that have a section of their own.
var memberSections = map[string]string{
	"SendMessageConfiguration.historyLength": "3.2.4",
	"GetTaskRequest.historyLength":           "3.2.4",
	"ListTasksRequest.historyLength":         "3.2.4",
}
