; Protocol Buffers.

(message (message_name) @name (message_body) @body) @struct
(enum (enum_name) @name (enum_body) @body) @enum
(service (service_name) @name "{" @body) @interface
(rpc (rpc_name) @name) @method

(import) @import

(message_or_enum_type) @ref
