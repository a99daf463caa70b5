; GraphQL: schemas and operations.

(object_type_definition (description)? @doc (name) @name (fields_definition)? @body) @class
(interface_type_definition (description)? @doc (name) @name (fields_definition)? @body) @interface
(input_object_type_definition (description)? @doc (name) @name (input_fields_definition)? @body) @struct
(enum_type_definition (description)? @doc (name) @name (enum_values_definition)? @body) @enum
(union_type_definition (description)? @doc (name) @name) @union
(scalar_type_definition (description)? @doc (name) @name) @type
(directive_definition (description)? @doc (name) @name) @function
(object_type_extension (name) @owner (fields_definition)? @body) @impl
(interface_type_extension (name) @owner (fields_definition)? @body) @impl
(input_object_type_extension (name) @owner (input_fields_definition)? @body) @impl
(enum_type_extension (name) @owner (enum_values_definition)? @body) @impl
(field_definition (description)? @doc (name) @name) @field
(input_fields_definition (input_value_definition (description)? @doc (name) @name) @field)
(enum_value_definition (description)? @doc (enum_value (name) @name)) @constant
(operation_definition (name) @name (selection_set) @body) @function
(fragment_definition (fragment_name) @name (selection_set) @body) @function

(named_type (name) @ref)
(fragment_spread (fragment_name) @call)
